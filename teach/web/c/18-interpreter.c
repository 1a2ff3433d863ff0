// A small interpreter: an indirect jump for each operation.
// Prints: 120
void print(long);

enum { MULTIPLY, COUNT, AGAIN, STOP };

unsigned char code[] = {MULTIPLY, COUNT, AGAIN, STOP};

long run(long n) {
  long result = 1;
  for (const unsigned char *at = code;; at++)
    switch (*at) {
    case MULTIPLY:
      result *= n;
      break;
    case COUNT:
      n--;
      break;
    case AGAIN:
      if (n > 0)
        at = code - 1;
      break;
    default:
      return result;
    }
}

int main(void) {
  print(run(5));
  return 0;
}
