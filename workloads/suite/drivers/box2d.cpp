// Four scenes of rigid bodies in Box2D: a pyramid of boxes, chains of joints, a mill that stirs
// circles and polygons, and ropes of bodies that are thrown about. Prints where bodies come to be.
#include <box2d/box2d.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

uint64_t state = 2005;

float random_between(float low, float high) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * float(state >> 40) / 16777216.0f;
}

b2Body *ground(b2World &world) {
    b2BodyDef def;
    b2Body *body = world.CreateBody(&def);
    b2Vec2 line[] = {{-40, 20}, {-30, 0}, {-5, -0.5f}, {5, 0}, {30, 0}, {40, 20}};
    b2ChainShape chain;
    chain.CreateChain(line, 6, {-41, 21}, {41, 21});
    body->CreateFixture(&chain, 0);
    return body;
}

b2Body *add(b2World &world, const b2Shape &shape, float x, float y, float density) {
    b2BodyDef def;
    def.type = b2_dynamicBody;
    def.position.Set(x, y);
    b2Body *body = world.CreateBody(&def);
    b2FixtureDef fixture;
    fixture.shape = &shape;
    fixture.density = density;
    fixture.friction = 0.4f;
    fixture.restitution = 0.1f;
    body->CreateFixture(&fixture);
    return body;
}

void pyramid(b2World &world, int rows) {
    b2PolygonShape box;
    box.SetAsBox(0.5f, 0.5f);
    for (int row = 0; row < rows; row++)
        for (int n = row; n < rows; n++)
            add(world, box, 1.1f * (float(n) - 0.5f * float(row + rows)), 0.6f + 1.05f * float(row), 2);
}

void chains(b2World &world, b2Body *fixed, int count) {
    b2PolygonShape link;
    link.SetAsBox(0.6f, 0.15f);
    for (int chain = 0; chain < count; chain++) {
        float x = -20 + 6 * float(chain), y = 25;
        b2Body *before = fixed;
        for (int n = 0; n < 12; n++) {
            b2Body *body = add(world, link, x + 0.5f + float(n), y, 10);
            b2RevoluteJointDef joint;
            joint.Initialize(before, body, {x + float(n), y});
            world.CreateJoint(&joint);
            before = body;
        }
    }
}

void mill(b2World &world, b2Body *fixed, int pieces) {
    b2PolygonShape blade;
    blade.SetAsBox(6, 0.3f, {0, 0}, 0.4f);
    b2Body *wheel = add(world, blade, 0, 8, 5);
    blade.SetAsBox(6, 0.3f, {0, 0}, 1.97f);
    wheel->CreateFixture(&blade, 5);
    b2RevoluteJointDef joint;
    joint.Initialize(fixed, wheel, {0, 8});
    joint.enableMotor = true;
    joint.motorSpeed = 2;
    joint.maxMotorTorque = 20000;
    world.CreateJoint(&joint);
    for (int n = 0; n < pieces; n++) {
        float x = random_between(-15, 15), y = random_between(16, 40);
        if (n % 2) {
            b2CircleShape circle;
            circle.m_radius = random_between(0.2f, 0.6f);
            add(world, circle, x, y, 1);
        } else {
            b2Vec2 corner[5];
            int corners = 3 + n / 2 % 3;
            static const b2Vec2 ROUND[5] = {{0.6f, 0}, {0.2f, 0.6f}, {-0.5f, 0.4f}, {-0.5f, -0.4f}, {0.2f, -0.6f}};
            std::memcpy(corner, ROUND, sizeof corner);
            b2PolygonShape polygon;
            polygon.Set(corner, corners);
            add(world, polygon, x, y, 1);
        }
    }
}

void thrown(b2World &world, int count) {
    b2CircleShape ball;
    ball.m_radius = 0.4f;
    for (int rope = 0; rope < count; rope++) {
        b2Body *before = nullptr;
        float x = random_between(-20, 20), y = random_between(5, 30);
        for (int n = 0; n < 6; n++) {
            b2Body *body = add(world, ball, x + float(n), y, 1);
            body->SetLinearVelocity({random_between(-20, 20), random_between(-5, 15)});
            body->SetBullet(n == 0);
            if (before) {
                b2DistanceJointDef joint;
                joint.Initialize(before, body, before->GetPosition(), body->GetPosition());
                b2LinearStiffness(joint.stiffness, joint.damping, 4, 0.5f, before, body);
                world.CreateJoint(&joint);
            }
            before = body;
        }
    }
}

class Contacts : public b2ContactListener {
public:
    long begun = 0;
    void BeginContact(b2Contact *) override { begun++; }
};

class Count : public b2QueryCallback {
public:
    int found = 0;
    bool ReportFixture(b2Fixture *) override { return ++found < 1000; }
};

uint64_t bits(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

void scene(int kind, int size, int steps) {
    b2World world({0, -10});
    Contacts contacts;
    world.SetContactListener(&contacts);
    b2Body *fixed = ground(world);
    switch (kind) {
    case 0: pyramid(world, size); break;
    case 1: chains(world, fixed, size / 2); break;
    case 2: mill(world, fixed, 4 * size); break;
    default: thrown(world, size); break;
    }
    int seen = 0;
    for (int step = 0; step < steps; step++) {
        world.Step(1.0f / 60, 8, 3);
        Count count;
        b2AABB box = {{-5, 0}, {5, 10}};
        world.QueryAABB(&count, box);
        seen += count.found;
    }
    uint64_t hash = 14695981039346656037u;
    float lowest = 1e9f, highest = -1e9f;
    for (b2Body *body = world.GetBodyList(); body; body = body->GetNext()) {
        b2Vec2 at = body->GetPosition();
        hash = (hash ^ bits(at.x)) * 1099511628211u;
        hash = (hash ^ bits(at.y)) * 1099511628211u;
        lowest = b2Min(lowest, at.y);
        highest = b2Max(highest, at.y);
    }
    std::printf("scene %d: %d bodies between %.6f and %.6f, %ld contacts, %d seen, %016llx\n", kind,
                world.GetBodyCount(), double(lowest), double(highest), contacts.begun, seen,
                (unsigned long long)hash);
}

} // namespace

int main(int argc, char **argv) {
    int size = argc > 1 ? std::atoi(argv[1]) : 8;
    int steps = argc > 2 ? std::atoi(argv[2]) : 60;
    for (int kind = 0; kind < 4; kind++)
        scene(kind, size, steps);
}
