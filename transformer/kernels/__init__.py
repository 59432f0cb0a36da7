"""Code that exists only for speed; the tests compare each kernel with its plain equivalent."""
