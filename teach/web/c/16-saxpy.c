// A times x plus y: floating point, and no iteration needs another.
// Prints: 5950
void print(long);

double x[100], y[100];

int main(void) {
  for (long i = 0; i < 100; i++) {
    x[i] = i;
    y[i] = 10;
  }
  for (long i = 0; i < 100; i++)
    y[i] = 1.0 * x[i] + y[i];
  double sum = 0;
  for (long i = 0; i < 100; i++)
    sum += y[i];
  print((long)sum);
  return 0;
}
