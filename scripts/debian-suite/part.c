#include "part.h"
long part(int n) { long sum = 1; for (int i = 1; i <= n * 10; i++) sum = sum * 31 + i; return sum; }
