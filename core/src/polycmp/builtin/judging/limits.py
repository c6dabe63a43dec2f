"""Every number that decides whether rounding explains a difference, and its origin.

Origins: *measured*, with what and when; *derived*, from the source that is named; *choice*, of which `make truth` shows
that its scenarios are judged rightly with it.
"""

from __future__ import annotations

#: Number of runs of a model with its tensors moved (choice: the largest of four samples of a normal distribution is
#: less than an eighth of its width in one of 10,000 cases).
SAMPLES = 4
#: The same for decisions, with tensors moved by all that rounding may do: of those that rounding a normally distributed
#: number turned, that many samples of `MARGIN` times its width leave 0.7 % as they are, and 4 % of a quarter of that
#: (derived; four leave 8 and 17 %).
DECISION_SAMPLES = 8
#: By how much two correct backends may be further apart than the sum of one sample of the rounding of each. Measured on
#: 2026-11-26 in outputs of the clean scenarios of `truth` and of files that ONNX Runtime's quantisers made of them: at
#: most 2.6 times in 81 of float32 (sums of 16,384 numbers; 0.6 otherwise), 1.5 in 60 of float16, 1.9 in 55 of
#: bfloat16 and 1.7 in 74 of int8 whose ranges leave nothing out. Where operators read and make codes, whose scales the
#: file does not show by tensor, ranges that are wider than these inputs need made up to 5.9; a third more is allowed.
MARGIN = 8.0
#: The same where two files hold the same network and one backend runs both, so that nothing but rounding tells them
#: apart (choice: the error is one sample of the noise like the others, and so the largest of five in one case of five.
#: Of normally distributed numbers it is more than twice the largest of four in 3.9 % of 2,000,000 cases of a single
#: one, in 0.6 % where an output has 4, in 0.08 % where it has 10, and in none of 4,000 where it has 100).
SAME_NETWORK_MARGIN = 2.0
#: An error of at most this share of what a tensor varies by passes, where rounding explains it (choice: an output that
#: is off by a factor of 1.1, or of which a tenth is noise, never passes for rounding).
SMALL_SHARE = 0.05
#: An output that is off by more than this share of what it varies by, on average, is of no use, whatever explains it
#: (choice; measured on MiniLM in int8: noise of 0.42 of the signal with cosines of 0.93 and more between the sentences'
#: vectors, 0.64 to 0.73 with cosines down to 0.69).
RUINED_SHARE = 0.5
#: A channel of the reference is alive if its values vary by more than so many units of the coarser type (choice: twice
#: what a channel of one number that is rounded once or twice varies by).
LEAST_UNITS = 4.0
