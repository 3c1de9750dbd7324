"""The zoo: trained machines that ship with the package, each a safetensors file that says where it comes from."""

from lantm.zoo.shelf import SHELF, Shipped, find, is_file, load, load_file, names, save, zoo_name

__all__ = ["SHELF", "Shipped", "find", "is_file", "load", "load_file", "names", "save", "zoo_name"]
