"""Models that go elsewhere: folders that other engines read, each proved to do what the original does."""
