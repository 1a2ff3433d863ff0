// The tree of boxes: built by splitting at the median of the longest side.
#include "scene.h"

NOINLINE bool box_hit(const Box &box, const Ray &ray, double limit)
{
    counters.box_tests++;
    double near = 0, far = limit;
    const double *low = &box.low.x, *high = &box.high.x;
    const double *origin = &ray.origin.x, *direction = &ray.direction.x;
    for (int axis = 0; axis < 3; axis++) {
        double inverse = 1.0 / direction[axis];
        double a = (low[axis] - origin[axis]) * inverse, b = (high[axis] - origin[axis]) * inverse;
        near = greatest(near, least(a, b));
        far = least(far, greatest(a, b));
    }
    return near <= far;
}

static Box joined(const Box &a, const Box &b)
{
    return {{least(a.low.x, b.low.x), least(a.low.y, b.low.y), least(a.low.z, b.low.z)},
            {greatest(a.high.x, b.high.x), greatest(a.high.y, b.high.y), greatest(a.high.z, b.high.z)}};
}

static NOINLINE double center_on(const Shape *shape, int axis)
{
    Box b = shape->bounds();
    return (&b.low.x)[axis] + (&b.high.x)[axis];
}

static NOINLINE void sort_on(Shape **shapes, int count, int axis)
{
    for (int gap = count / 2; gap > 0; gap /= 2)
        for (int i = gap; i < count; i++) {
            Shape *s = shapes[i];
            double c = center_on(s, axis);
            int j = i;
            for (; j >= gap && center_on(shapes[j - gap], axis) > c; j -= gap)
                shapes[j] = shapes[j - gap];
            shapes[j] = s;
        }
}

static int longest_axis(const Box &b)
{
    Vec d = b.high - b.low;
    return d.x >= d.y && d.x >= d.z ? 0 : d.y >= d.z ? 1 : 2;
}

Group::Group(Shape **shapes, int count) : Shape(0), box_(shapes[0]->bounds()), count_(0), nodes_(1)
{
    for (int i = 1; i < count; i++)
        box_ = joined(box_, shapes[i]->bounds());
    if (count <= LEAF_SHAPES) {
        while (count_ < count) {
            children_[count_] = shapes[count_];
            count_++;
        }
        return;
    }
    sort_on(shapes, count, longest_axis(box_));
    int half = count / 2;
    Group *left = new Group(shapes, half), *right = new Group(shapes + half, count - half);
    nodes_ += left->nodes_ + right->nodes_;
    children_[count_++] = left;
    children_[count_++] = right;
}

Group::~Group()
{
    for (int i = 0; i < count_; i++)
        delete children_[i];
}

bool Group::intersect(const Ray &ray, Hit &hit) const
{
    if (!box_hit(box_, ray, hit.distance))
        return false;
    bool found = false;
    for (int i = 0; i < count_; i++)
        if (children_[i]->intersect(ray, hit))
            found = true;
    return found;
}
