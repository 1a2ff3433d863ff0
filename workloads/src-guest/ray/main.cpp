// ray: builds scenes of many shapes and renders them; prints checksums of the pictures.
#include "scene.h"

static const int MAX_SHAPES = 1024;

struct Stage {
    Shape *shapes[MAX_SHAPES];
    int count;
    void add(Shape *s)
    {
        if (count == MAX_SHAPES)
            rt_fail("too many shapes");
        shapes[count++] = s;
    }
};

struct Palette {
    Matte red{{0.9, 0.2, 0.2}}, grey{{0.6, 0.6, 0.6}};
    Checkered floor{{0.9, 0.9, 0.9}, {0.2, 0.3, 0.2}};
    Glossy gold{{0.9, 0.7, 0.2}, 0.3, 32}, mirror{{0.2, 0.2, 0.2}, 0.8, 128};
    Glass glass{1.5};
    const Material *pick(unsigned i) const
    {
        const Material *all[] = {&red, &grey, &gold, &mirror, &glass};
        return all[i % 5];
    }
};

static double between(rng &r, double low, double high)
{
    return low + (high - low) * ((double)rng_below(&r, 1u << 20) / (double)(1u << 20));
}

static NOINLINE void build_spheres(Stage &stage, const Palette &palette, rng &r, int count)
{
    for (int i = 0; i < count; i++) {
        double radius = between(r, 0.2, 0.7), x = between(r, -8, 8), z = between(r, 4, 20);
        stage.add(new Sphere({x, radius, z}, radius, palette.pick(rng_below(&r, 5))));
    }
}

static NOINLINE void build_columns(Stage &stage, const Palette &palette, rng &r, int count)
{
    for (int i = 0; i < count; i++) {
        double x = -9 + 18.0 * (i % 8) / 7, z = 6 + 3.0 * (i / 8), height = between(r, 1, 3);
        stage.add(new Tube({x, 0, z}, 0.4, height, palette.pick(rng_below(&r, 4))));
        stage.add(new Block({x - 0.5, height, z - 0.5}, {x + 0.5, height + 0.2, z + 0.5}, &palette.grey));
    }
}

// A wavy surface of triangles.
static NOINLINE void build_terrain(Stage &stage, const Palette &palette, rng &r, int side)
{
    double heights[16][16];
    for (int i = 0; i <= side; i++)
        for (int j = 0; j <= side; j++)
            heights[i][j] = between(r, 0.0, 1.4);
    double step = 16.0 / side;
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++) {
            double x = -8 + i * step, z = 4 + j * step;
            Vec a = {x, heights[i][j], z}, b = {x + step, heights[i + 1][j], z};
            Vec c = {x, heights[i][j + 1], z + step}, d = {x + step, heights[i + 1][j + 1], z + step};
            stage.add(new Triangle(a, b, c, palette.pick(rng_below(&r, 3))));
            stage.add(new Triangle(b, d, c, palette.pick(rng_below(&r, 3))));
        }
}

static NOINLINE void add_floor(Stage &stage, const Palette &palette)
{
    stage.add(new Block({-30, -1, -10}, {30, 0, 60}, &palette.floor));
}

static NOINLINE Ray camera_ray(int x, int y, int width, int height)
{
    double u = (x + 0.5) / width * 2 - 1, v = 1 - (y + 0.5) / height * 2;
    return {{0, 2.5, -4}, normalized({u * 1.2, v * 0.9 - 0.15, 2})};
}

static unsigned channel(double v)
{
    return v <= 0 ? 0 : v >= 1 ? 255 : (unsigned)(v * 255.0 + 0.5);
}

static NOINLINE uint64_t render(const Scene &scene, int width, int height, int depth)
{
    uint64_t sum = CHECKSUM_START;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            counters.primary++;
            Vec color = scene.trace(camera_ray(x, y, width, height), depth);
            sum = checksum_word(sum, channel(color.x) << 16 | channel(color.y) << 8 | channel(color.z));
        }
    return sum;
}

typedef void Builder(Stage &stage, const Palette &palette, rng &r, int count);

struct Plan {
    const char *name;
    Builder *build;
    int small, large;
};

static const Plan plans[] = {
    {"spheres", build_spheres, 40, 120},
    {"columns", build_columns, 16, 40},
    {"terrain", build_terrain, 6, 15},
};

static NOINLINE void show(const Plan &plan, const Palette &palette, rng &r, bool large)
{
    Stage stage;
    stage.count = 0;
    counters = Counters{0, 0, 0, 0, 0};
    add_floor(stage, palette);
    plan.build(stage, palette, r, large ? plan.large : plan.small);
    Group *root = new Group(stage.shapes, stage.count);
    PointLight lamp({3, 8, 2}, {1.0, 0.9, 0.8});
    SunLight sun({-2, 5, -3}, {0.5, 0.5, 0.6});
    Light *lights[] = {&lamp, &sun};
    Scene scene(root, lights, 2);
    uint64_t sum = large ? render(scene, 192, 144, 4) : render(scene, 26, 15, 3);
    printf("%s shapes %d nodes %d picture %016lx\n", plan.name, stage.count, root->nodes(), (unsigned long)sum);
    printf("  rays %ld shadow %ld bounced %ld box tests %ld shape tests %ld\n", counters.primary, counters.shadow,
           counters.bounced, counters.box_tests, counters.shape_tests);
    delete root;
}

int main(int argc, char **argv)
{
    bool large = workload_size(argc, argv) == WORKLOAD_LARGE;
    rng r;
    rng_seed(&r, 1980);
    Palette palette;
    for (size_t i = 0; i < ARRAY_LEN(plans); i++)
        show(plans[i], palette, r, large);
    if (rt_live_blocks() != 0)
        rt_fail("blocks leaked");
    return 0;
}
