// Vectors and rays.
#ifndef VEC_H
#define VEC_H

#include "rt.h"

struct Vec {
    double x, y, z;
};

inline Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vec operator-(Vec a) { return {-a.x, -a.y, -a.z}; }
inline Vec operator*(Vec a, double s) { return {a.x * s, a.y * s, a.z * s}; }
inline Vec operator*(Vec a, Vec b) { return {a.x * b.x, a.y * b.y, a.z * b.z}; }
inline double dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vec cross(Vec a, Vec b)
{
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline double square_root(double v) { return __builtin_sqrt(v); }
inline double length(Vec a) { return square_root(dot(a, a)); }
inline Vec normalized(Vec a) { return a * (1.0 / length(a)); }
inline double least(double a, double b) { return a < b ? a : b; }
inline double greatest(double a, double b) { return a > b ? a : b; }
inline Vec reflected(Vec d, Vec n) { return d - n * (2.0 * dot(d, n)); }

struct Ray {
    Vec origin, direction;
    Vec at(double t) const { return origin + direction * t; }
};

// Integer power, so that no mathematics library is needed.
double power(double base, unsigned exponent);

#endif
