// What a scene is made of.  Shapes, materials and lights are found through virtual calls.
#ifndef SCENE_H
#define SCENE_H

#include "vec.h"

struct Box {
    Vec low, high;
};

class Material;

struct Hit {
    double distance;
    Vec point, normal;
    const Material *material;
};

class Shape {
public:
    explicit Shape(const Material *material) : material_(material) {}
    virtual ~Shape() {}
    // Finds the nearest hit that is closer than hit.distance and beyond the ray's start.
    virtual bool intersect(const Ray &ray, Hit &hit) const = 0;
    virtual Box bounds() const = 0;

protected:
    bool record(const Ray &ray, double distance, Vec normal, Hit &hit) const;
    const Material *material_;
};

class Sphere : public Shape {
public:
    Sphere(Vec center, double radius, const Material *m) : Shape(m), center_(center), radius_(radius) {}
    bool intersect(const Ray &ray, Hit &hit) const override;
    Box bounds() const override;

private:
    Vec center_;
    double radius_;
};

class Triangle : public Shape {
public:
    Triangle(Vec a, Vec b, Vec c, const Material *m) : Shape(m), a_(a), ab_(b - a), ac_(c - a) {}
    bool intersect(const Ray &ray, Hit &hit) const override;
    Box bounds() const override;

private:
    Vec a_, ab_, ac_;
};

class Block : public Shape {
public:
    Block(Vec low, Vec high, const Material *m) : Shape(m), box_{low, high} {}
    bool intersect(const Ray &ray, Hit &hit) const override;
    Box bounds() const override { return box_; }

private:
    Box box_;
};

// An upright cylinder without caps.
class Tube : public Shape {
public:
    Tube(Vec base, double radius, double height, const Material *m)
        : Shape(m), base_(base), radius_(radius), height_(height)
    {
    }
    bool intersect(const Ray &ray, Hit &hit) const override;
    Box bounds() const override;

private:
    bool side_hit(const Ray &ray, double t, Hit &hit) const;
    Vec base_;
    double radius_, height_;
};

class Scene;

class Material {
public:
    virtual ~Material() {}
    virtual Vec shade(const Scene &scene, const Ray &ray, const Hit &hit, int depth) const = 0;
};

class Matte : public Material {
public:
    explicit Matte(Vec color) : color_(color) {}
    Vec shade(const Scene &scene, const Ray &ray, const Hit &hit, int depth) const override;

protected:
    virtual Vec color_at(Vec point) const;
    Vec color_;
};

class Checkered : public Matte {
public:
    Checkered(Vec color, Vec other) : Matte(color), other_(other) {}

protected:
    Vec color_at(Vec point) const override;

private:
    Vec other_;
};

class Glossy : public Matte {
public:
    Glossy(Vec color, double mirror, unsigned shine) : Matte(color), mirror_(mirror), shine_(shine) {}
    Vec shade(const Scene &scene, const Ray &ray, const Hit &hit, int depth) const override;

private:
    double mirror_;
    unsigned shine_;
};

class Glass : public Material {
public:
    explicit Glass(double index) : index_(index) {}
    Vec shade(const Scene &scene, const Ray &ray, const Hit &hit, int depth) const override;

private:
    double index_;
};

class Light {
public:
    virtual ~Light() {}
    // Direction and distance from a point to the light, and the light's color there.
    virtual Vec sample(Vec point, Vec &direction, double &distance) const = 0;
};

class PointLight : public Light {
public:
    PointLight(Vec position, Vec color) : position_(position), color_(color) {}
    Vec sample(Vec point, Vec &direction, double &distance) const override;

private:
    Vec position_, color_;
};

class SunLight : public Light {
public:
    SunLight(Vec toward, Vec color) : toward_(normalized(toward)), color_(color) {}
    Vec sample(Vec point, Vec &direction, double &distance) const override;

private:
    Vec toward_, color_;
};

// A tree of boxes over the shapes; itself a shape.  A leaf holds up to LEAF_SHAPES of them.
class Group : public Shape {
public:
    Group(Shape **shapes, int count);
    ~Group() override;
    bool intersect(const Ray &ray, Hit &hit) const override;
    Box bounds() const override { return box_; }
    int nodes() const { return nodes_; }

private:
    static const int LEAF_SHAPES = 4;
    Box box_;
    Shape *children_[LEAF_SHAPES];
    int count_, nodes_;
};

struct Counters {
    long primary, shadow, bounced, box_tests, shape_tests;
};
extern Counters counters;

class Scene {
public:
    Scene(Shape *root, Light **lights, int light_count) : root_(root), lights_(lights), light_count_(light_count) {}
    Vec trace(const Ray &ray, int depth) const;
    bool in_shadow(Vec point, Vec direction, double distance) const;
    int light_count() const { return light_count_; }
    const Light &light(int i) const { return *lights_[i]; }

private:
    Vec background(Vec direction) const;
    Shape *root_;
    Light **lights_;
    int light_count_;
};

bool box_hit(const Box &box, const Ray &ray, double limit);

#endif
