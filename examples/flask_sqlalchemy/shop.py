"""A Flask application on PostgreSQL, with Flask-SQLAlchemy. Its webhooks make one order for each payment.

export DATABASE_URL=postgresql+psycopg://localhost/shop STRIPE_WEBHOOK_SECRET=whsec_...
flask --app shop init-db
gunicorn shop:app &
landfast work shop:inbox &
landfast send stripe payment_intent.succeeded --app shop:inbox --url http://127.0.0.1:8000/hooks --times 5
"""

from __future__ import annotations

import os
from typing import Any

from flask import Flask, jsonify
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import select
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from landfast import Event, Inbox

DATABASE_URL = os.environ["DATABASE_URL"]


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    payment_id: Mapped[str]
    amount: Mapped[int]


db = SQLAlchemy(model_class=Base)
app = Flask(__name__)
app.config["SQLALCHEMY_DATABASE_URI"] = DATABASE_URL
db.init_app(app)

with app.app_context():
    # What came in is kept in the schema `landfast` of the same database, the receipts in `landfast_ledger`.
    inbox = Inbox(store=DATABASE_URL, ledger=db.engine, scoped=db.session)
inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])


@inbox.on("stripe", "payment_intent.succeeded")
def create_order(event: Event) -> None:
    # In a handler `db.session` is on the transaction of the receipt: both are committed, or neither is.
    payment = event.data["data"]["object"]
    with app.app_context():
        db.session.add(Order(payment_id=payment["id"], amount=payment["amount"]))
        db.session.commit()


@app.get("/orders")
def orders() -> Any:
    found = db.session.scalars(select(Order).order_by(Order.id))
    return jsonify([{"payment": order.payment_id, "amount": order.amount} for order in found])


@app.cli.command("init-db")
def init_db() -> None:
    db.create_all()


app.wsgi_app = DispatcherMiddleware(app.wsgi_app, {"/hooks": inbox.wsgi()})  # type: ignore[method-assign]
