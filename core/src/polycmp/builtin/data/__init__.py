"""Files of inputs and outputs: looking into them, joining them, making them from images and arrays."""
