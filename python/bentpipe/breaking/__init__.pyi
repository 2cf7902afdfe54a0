from .job import Found as Found
from .job import break_ as break_
