# long squares_by_vector(const int *numbers, long count): the sum of the squares of up to 16 numbers.
.globl squares_by_vector
squares_by_vector:
 vsetvli t0, a1, e32, m8, ta, ma
 vle32.v v8, (a0)
 vmul.vv v8, v8, v8
 vmv.s.x v0, zero
 vredsum.vs v0, v8, v0
 vmv.x.s a0, v0
 ret
