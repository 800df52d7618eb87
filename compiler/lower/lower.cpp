#include "compiler/lower/lower.h"
