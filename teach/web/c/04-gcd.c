// Greatest common divisor: each division waits for the one before it.
// Prints: 21
void print(long);

long gcd(long a, long b) {
  while (b != 0) {
    long rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

int main(void) {
  print(gcd(1071, 462));
  return 0;
}
