"""What the machine provides: processes, random states, atomic files, precision, memory, and trials run side by side."""
