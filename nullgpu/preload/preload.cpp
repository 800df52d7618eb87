// Empty: this library exists for the libraries that it needs. CMakeLists.txt lists them and says
// why.
