"""Published augmentation policies for photographs, as a layer in front of a network."""
