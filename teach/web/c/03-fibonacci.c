// Recursion: calls, returns, and what they save on the stack.
// Prints: 144
void print(long);

long fibonacci(long n) {
  if (n < 2)
    return n;
  return fibonacci(n - 1) + fibonacci(n - 2);
}

int main(void) {
  print(fibonacci(12));
  return 0;
}
