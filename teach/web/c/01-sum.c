// Adds up an array: each addition needs the one before it.
// Prints: 4950
void print(long);

long numbers[100];

int main(void) {
  for (long i = 0; i < 100; i++)
    numbers[i] = i;
  long sum = 0;
  for (long i = 0; i < 100; i++)
    sum += numbers[i];
  print(sum);
  return 0;
}
