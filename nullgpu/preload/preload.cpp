// Nothing but the libraries that this one needs: CMakeLists.txt says which, and why.
