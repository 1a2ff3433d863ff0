// Multiplies matrices: rows of one, columns of the other.
// Prints: 1792
void print(long);

long a[8][8], b[8][8], c[8][8];

int main(void) {
  for (long i = 0; i < 8; i++)
    for (long j = 0; j < 8; j++) {
      a[i][j] = i + j;
      b[i][j] = i - j + 4;
    }
  for (long i = 0; i < 8; i++)
    for (long j = 0; j < 8; j++) {
      long sum = 0;
      for (long k = 0; k < 8; k++)
        sum += a[i][k] * b[k][j];
      c[i][j] = sum;
    }
  long trace = 0;
  for (long i = 0; i < 8; i++)
    trace += c[i][i];
  print(trace);
  return 0;
}
