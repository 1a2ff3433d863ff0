// Sorts by exchanging neighbours: its branch is hard to predict at first.
// Prints: 4
void print(long);

long numbers[] = {42, 7, 19, 4, 88, 51, 13, 60, 25, 36, 9, 71};

int main(void) {
  long count = sizeof numbers / sizeof numbers[0];
  for (long end = count - 1; end > 0; end--)
    for (long i = 0; i < end; i++)
      if (numbers[i] > numbers[i + 1]) {
        long kept = numbers[i];
        numbers[i] = numbers[i + 1];
        numbers[i + 1] = kept;
      }
  print(numbers[0]);
  return 0;
}
