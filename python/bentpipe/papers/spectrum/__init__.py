"""A spectrum of TCP-friendly window controls with history: SIMD, AIAD and their rivals."""
