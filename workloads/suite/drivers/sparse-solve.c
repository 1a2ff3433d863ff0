// Linear systems by CSparse: a sparse Cholesky factorization of the Laplacian of a grid whose points are numbered in no
// order, and solutions for several right-hand sides with their residuals.
#include "cs.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 2005;

static csi below(csi end) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (csi)((state >> 32) * (uint64_t)end >> 32);
}

static void *need(void *made) {
    if (!made) {
        puts("no memory, or no factorization");
        exit(1);
    }
    return made;
}

static void entry(cs *triplets, csi row, csi column, double value) {
    if (!cs_entry(triplets, row, column, value))
        need(NULL);
}

// A spring between two points of the grid; `sums` becomes the diagonal.
static void spring(cs *triplets, double *sums, csi a, csi b) {
    double strength = (double)(1 + below(8));
    sums[a] += strength;
    sums[b] += strength;
    entry(triplets, a, b, -strength);
    entry(triplets, b, a, -strength);
}

static cs *laplacian(csi width, csi height, const csi *number) {
    csi n = width * height;
    cs *triplets = need(cs_spalloc(n, n, 5 * n, 1, 1));
    double *sums = need(cs_calloc(n, sizeof *sums));
    for (csi y = 0; y < height; y++)
        for (csi x = 0; x < width; x++) {
            csi at = y * width + x;
            if (x + 1 < width)
                spring(triplets, sums, number[at], number[at + 1]);
            if (y + 1 < height)
                spring(triplets, sums, number[at], number[at + width]);
        }
    for (csi i = 0; i < n; i++)
        entry(triplets, i, i, sums[i] + 1);
    cs *columns = need(cs_compress(triplets));
    cs_spfree(triplets);
    cs_free(sums);
    return columns;
}

// Unknown `number[k]` is eliminated as the k-th.
static void solve(const csi *number, const cs *factor, const double *b, double *x, double *work, csi n) {
    cs_pvec(number, b, work, n);
    cs_lsolve(factor, work);
    cs_ltsolve(factor, work);
    cs_ipvec(number, work, x, n);
}

int main(int argc, char **argv) {
    csi width = argc > 1 ? atoi(argv[1]) : 20;
    csi height = argc > 2 ? atoi(argv[2]) : 20;
    int sides = argc > 3 ? atoi(argv[3]) : 1;
    csi n = width * height;
    csi *number = need(cs_malloc(n, sizeof *number));
    for (csi at = 0; at < n; at++) {
        csi other = below(at + 1);
        number[at] = number[other];
        number[other] = at;
    }
    cs *matrix = laplacian(width, height, number);
    // Along the grid the factor is a band as wide as the grid.
    csi *inverse = need(cs_pinv(number, n));
    cs *ordered = need(cs_symperm(matrix, inverse, 1));
    css *symbolic = need(cs_schol(0, ordered));
    csn *numeric = need(cs_chol(ordered, symbolic));
    const cs *factor = numeric->L;
    printf("%d unknowns, %d entries, %d in the factor\n", (int)n, (int)matrix->p[n], (int)factor->p[n]);

    double *right = need(cs_malloc(n, sizeof *right)), *b = need(cs_malloc(n, sizeof *b));
    double *x = need(cs_malloc(n, sizeof *x)), *work = need(cs_malloc(n, sizeof *work));
    for (int s = 0; s < sides; s++) {
        // The solution is known: whole numbers, so that the right-hand side has no rounding errors.
        for (csi i = 0; i < n; i++) {
            right[i] = (double)(below(2001) - 1000);
            b[i] = 0;
        }
        cs_gaxpy(matrix, right, b);
        solve(number, factor, b, x, work, n);
        double error = 0, residual = 0;
        uint64_t hash = 14695981039346656037u;
        for (csi i = 0; i < n; i++) {
            uint64_t bits;
            memcpy(&bits, &x[i], sizeof bits);
            hash = (hash ^ bits) * 1099511628211u;
            error = fmax(error, fabs(x[i] - right[i]));
            x[i] = -x[i];
        }
        cs_gaxpy(matrix, x, b);
        for (csi i = 0; i < n; i++)
            residual = fmax(residual, fabs(b[i]));
        printf("right-hand side %d: hash %016llx\n", s, (unsigned long long)hash);
        if (!(error < 1e-9 && residual < 1e-9)) {
            printf("off by %g, residual %g\n", error, residual);
            return 1;
        }
    }
    return 0;
}
