from .ground import Point as Point
from .ground import Track as Track
from .ground import voyage as voyage
from .paths import Solution as Solution
from .paths import path as path
from .paths import places as places
from .paths import shells as shells
from .paths import solve as solve
