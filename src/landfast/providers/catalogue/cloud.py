"""Clouds."""

from __future__ import annotations

from landfast.providers.catalogue.units import HOUR, MINUTE
from landfast.providers.handshake import Handshake
from landfast.providers.profile import Profile, Redelivery, Sample
from landfast.providers.schemes.sns import SnsScheme

AWS_SNS = Profile(
    name="aws-sns",
    title="Amazon SNS",
    scheme=SnsScheme(),
    key="body:MessageId",
    type="body:Type",
    entity="body:TopicArn",
    occurred_at="body:Timestamp",
    signed_at_place="body:Timestamp",
    tolerance=HOUR,  # the longest that a policy of retries may span
    handshakes=(
        Handshake(
            when="body:Type=SubscriptionConfirmation",
            is_signed=True,
            visit="body:SubscribeURL",
            visits=r"https://sns\.[a-z0-9-]{3,}\.amazonaws\.com(\.cn)?/\?[A-Za-z0-9=&%:._-]+",
        ),
    ),
    redelivery=Redelivery(timeout=15, window=MINUTE, delays=(20, 20, 20)),
    samples=(
        Sample(
            type="Notification",
            id="00000000-0000-4000-8000-000000001001",
            headers={"x-amz-sns-message-type": "{type}", "Content-Type": "text/plain; charset=UTF-8"},
            data={
                "Type": "{type}",
                "MessageId": "{id}",
                "TopicArn": "arn:aws:sns:eu-west-1:123456789012:shore",
                "Message": "The ice holds.",
                "Timestamp": "{now}",
            },
        ),
    ),
    setup="Give the topic's ARN as the secret, then subscribe the URL. Landfast tells the address that confirms it.",
    traps=(
        "Anybody with an account can have messages signed: only the ARN says that they are yours.",
        "Raw message delivery has no signature, and is refused.",
    ),
)

PROFILES = (AWS_SNS,)
