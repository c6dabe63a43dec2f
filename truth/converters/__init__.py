"""Files that converters make: no good one is accused, and a planted fault is named."""
