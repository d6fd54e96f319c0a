"""Stripe is given the address https://.../hooks/in/stripe."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("hooks/", include("landfast.django.urls")),
]
