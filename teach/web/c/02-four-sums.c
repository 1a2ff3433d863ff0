// The same sum in four chains, which can run side by side.
// Prints: 4950
void print(long);

long numbers[100];

int main(void) {
  for (long i = 0; i < 100; i++)
    numbers[i] = i;
  long a = 0, b = 0, c = 0, d = 0;
  for (long i = 0; i < 100; i += 4) {
    a += numbers[i];
    b += numbers[i + 1];
    c += numbers[i + 2];
    d += numbers[i + 3];
  }
  print(a + b + c + d);
  return 0;
}
