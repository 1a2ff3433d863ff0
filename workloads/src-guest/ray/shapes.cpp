// Ray intersection for each kind of shape.
#include "scene.h"

Counters counters;

static const double START = 1e-6; // a ray does not hit what it starts on

double power(double base, unsigned exponent)
{
    double r = 1.0;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1)
            r *= base;
    return r;
}

bool Shape::record(const Ray &ray, double distance, Vec normal, Hit &hit) const
{
    if (distance < START || distance >= hit.distance)
        return false;
    hit.distance = distance;
    hit.point = ray.at(distance);
    hit.normal = dot(normal, ray.direction) > 0 ? -normal : normal;
    hit.material = material_;
    return true;
}

bool Sphere::intersect(const Ray &ray, Hit &hit) const
{
    counters.shape_tests++;
    Vec to = center_ - ray.origin;
    double along = dot(to, ray.direction);
    double inside = along * along - dot(to, to) + radius_ * radius_;
    if (inside < 0)
        return false;
    double half = square_root(inside);
    double t = along - half >= START ? along - half : along + half;
    return record(ray, t, (ray.at(t) - center_) * (1.0 / radius_), hit);
}

Box Sphere::bounds() const
{
    Vec r = {radius_, radius_, radius_};
    return {center_ - r, center_ + r};
}

bool Triangle::intersect(const Ray &ray, Hit &hit) const
{
    counters.shape_tests++;
    Vec p = cross(ray.direction, ac_);
    double area = dot(ab_, p);
    if (area > -1e-12 && area < 1e-12)
        return false;
    double inverse = 1.0 / area;
    Vec from = ray.origin - a_;
    double u = dot(from, p) * inverse;
    if (u < 0 || u > 1)
        return false;
    Vec q = cross(from, ab_);
    double v = dot(ray.direction, q) * inverse;
    if (v < 0 || u + v > 1)
        return false;
    return record(ray, dot(ac_, q) * inverse, normalized(cross(ab_, ac_)), hit);
}

Box Triangle::bounds() const
{
    Vec b = a_ + ab_, c = a_ + ac_;
    return {{least(a_.x, least(b.x, c.x)), least(a_.y, least(b.y, c.y)), least(a_.z, least(b.z, c.z))},
            {greatest(a_.x, greatest(b.x, c.x)), greatest(a_.y, greatest(b.y, c.y)), greatest(a_.z, greatest(b.z, c.z))}};
}

// Narrows [near, far] to one pair of parallel planes; remembers which plane cut last.
static inline void cut(double origin, double direction, double low, double high, int axis, double &near, double &far,
                       int &near_axis)
{
    double inverse = 1.0 / direction;
    double a = (low - origin) * inverse, b = (high - origin) * inverse;
    if (a > b) {
        double t = a;
        a = b;
        b = t;
    }
    if (a > near) {
        near = a;
        near_axis = axis;
    }
    if (b < far)
        far = b;
}

bool Block::intersect(const Ray &ray, Hit &hit) const
{
    counters.shape_tests++;
    double near = -1e30, far = 1e30;
    int axis = 0;
    cut(ray.origin.x, ray.direction.x, box_.low.x, box_.high.x, 0, near, far, axis);
    cut(ray.origin.y, ray.direction.y, box_.low.y, box_.high.y, 1, near, far, axis);
    cut(ray.origin.z, ray.direction.z, box_.low.z, box_.high.z, 2, near, far, axis);
    if (near > far)
        return false;
    Vec normal = {axis == 0 ? 1.0 : 0.0, axis == 1 ? 1.0 : 0.0, axis == 2 ? 1.0 : 0.0};
    return record(ray, near, normal, hit);
}

bool Tube::side_hit(const Ray &ray, double t, Hit &hit) const
{
    Vec p = ray.at(t);
    if (p.y < base_.y || p.y > base_.y + height_)
        return false;
    Vec normal = {(p.x - base_.x) / radius_, 0, (p.z - base_.z) / radius_};
    return record(ray, t, normal, hit);
}

bool Tube::intersect(const Ray &ray, Hit &hit) const
{
    counters.shape_tests++;
    double ox = ray.origin.x - base_.x, oz = ray.origin.z - base_.z;
    double a = ray.direction.x * ray.direction.x + ray.direction.z * ray.direction.z;
    if (a < 1e-12)
        return false;
    double b = ox * ray.direction.x + oz * ray.direction.z;
    double c = ox * ox + oz * oz - radius_ * radius_;
    double inside = b * b - a * c;
    if (inside < 0)
        return false;
    double root = square_root(inside);
    if (side_hit(ray, (-b - root) / a, hit))
        return true;
    return side_hit(ray, (-b + root) / a, hit);
}

Box Tube::bounds() const
{
    return {{base_.x - radius_, base_.y, base_.z - radius_}, {base_.x + radius_, base_.y + height_, base_.z + radius_}};
}
