"""What plugins over tables share: conditions that choose rows, patterns, and rows of several profiles side by side."""
