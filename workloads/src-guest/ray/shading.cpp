// Lights and materials.
#include "scene.h"

Vec PointLight::sample(Vec point, Vec &direction, double &distance) const
{
    Vec to = position_ - point;
    distance = length(to);
    direction = to * (1.0 / distance);
    return color_ * (40.0 / (10.0 + distance * distance));
}

Vec SunLight::sample(Vec, Vec &direction, double &distance) const
{
    direction = toward_;
    distance = 1e9;
    return color_;
}

Vec Matte::color_at(Vec) const { return color_; }

Vec Checkered::color_at(Vec point) const
{
    // The shift keeps the numbers positive, where conversion rounds down.
    long x = (long)(point.x + 1000.0), z = (long)(point.z + 1000.0);
    return (x + z) % 2 == 0 ? color_ : other_;
}

Vec Matte::shade(const Scene &scene, const Ray &, const Hit &hit, int) const
{
    Vec sum = {0.08, 0.08, 0.1};
    for (int i = 0; i < scene.light_count(); i++) {
        Vec direction;
        double distance;
        Vec light = scene.light(i).sample(hit.point, direction, distance);
        double facing = dot(hit.normal, direction);
        if (facing > 0 && !scene.in_shadow(hit.point, direction, distance))
            sum = sum + light * facing;
    }
    return sum * color_at(hit.point);
}

Vec Glossy::shade(const Scene &scene, const Ray &ray, const Hit &hit, int depth) const
{
    Vec base = Matte::shade(scene, ray, hit, depth);
    Vec mirror = reflected(ray.direction, hit.normal);
    for (int i = 0; i < scene.light_count(); i++) {
        Vec direction;
        double distance;
        Vec light = scene.light(i).sample(hit.point, direction, distance);
        double toward = dot(mirror, direction);
        if (toward > 0)
            base = base + light * power(toward, shine_);
    }
    if (depth <= 0)
        return base;
    counters.bounced++;
    Vec seen = scene.trace({hit.point, mirror}, depth - 1);
    return base * (1.0 - mirror_) + seen * mirror_;
}

Vec Glass::shade(const Scene &scene, const Ray &ray, const Hit &hit, int depth) const
{
    if (depth <= 0)
        return {0.1, 0.1, 0.1};
    double cosine = -dot(ray.direction, hit.normal);
    double ratio = 1.0 / index_;
    double inside = 1.0 - ratio * ratio * (1.0 - cosine * cosine);
    double grazing = power(1.0 - cosine, 5);
    counters.bounced++;
    Vec mirror = scene.trace({hit.point, reflected(ray.direction, hit.normal)}, depth - 1);
    if (inside < 0)
        return mirror;
    counters.bounced++;
    Vec through = ray.direction * ratio + hit.normal * (ratio * cosine - square_root(inside));
    Vec seen = scene.trace({hit.point, normalized(through)}, depth - 1);
    double share = 0.05 + 0.95 * grazing;
    return mirror * share + seen * (1.0 - share);
}

Vec Scene::background(Vec direction) const
{
    double up = 0.5 * (direction.y + 1.0);
    return Vec{1, 1, 1} * (1.0 - up) + Vec{0.4, 0.6, 1.0} * up;
}

Vec Scene::trace(const Ray &ray, int depth) const
{
    Hit hit = {1e9, {0, 0, 0}, {0, 0, 0}, 0};
    if (!root_->intersect(ray, hit))
        return background(ray.direction);
    return hit.material->shade(*this, ray, hit, depth);
}

bool Scene::in_shadow(Vec point, Vec direction, double distance) const
{
    counters.shadow++;
    Hit hit = {distance, {0, 0, 0}, {0, 0, 0}, 0};
    return root_->intersect({point, direction}, hit);
}
