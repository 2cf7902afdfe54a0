from .job import advise as advise
from .verdict import Advice as Advice
