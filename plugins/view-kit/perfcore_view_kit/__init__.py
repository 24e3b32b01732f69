"""What views that draw pages share: the shell of an offline page, its colours, and scripts."""
