"""A check of steps that counts how often it was run."""

#: Passes in the steps whose numbers it is given.
COUNTING = """\
count=$(cat count 2>/dev/null || echo 0)
echo $((count + 1)) > count
printf "$count" > left.txt
for step in "$@"; do [ "$step" = "$count" ] && exit 0; done
exit 5
"""
