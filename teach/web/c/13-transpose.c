// Writes along the columns of a large matrix: one access in each line of the cache.
// Prints: 1128
void print(long);

int from[48][48], to[48][48];

int main(void) {
  for (long i = 0; i < 48; i++)
    from[0][i] = i;
  for (long i = 0; i < 48; i++)
    for (long j = 0; j < 48; j++)
      to[j][i] = from[i][j];
  long sum = 0;
  for (long j = 0; j < 48; j++)
    sum += to[j][0];
  print(sum);
  return 0;
}
