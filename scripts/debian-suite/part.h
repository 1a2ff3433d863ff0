long part(int n);
