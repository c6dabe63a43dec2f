"""What is searched over: releases of a package, versions of Python, files, each as a line of candidates."""
