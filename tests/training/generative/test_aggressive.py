"""Turns of encoders and decoders in aggressive training."""

from paraphrastic_hf.training.generative.aggressive import MOST, WINDOW, Aggression


def test_decoders_train_once_the_loss_stops_falling():
    turns = Aggression()
    for loss in (5.0, 4.0, 3.0):
        for _ in range(WINDOW):
            assert not turns.is_decoders_turn
            turns.add(loss)
    for _ in range(WINDOW):
        turns.add(3.5)
    assert turns.is_decoders_turn
    turns.add(3.5)  # the step of the decoders
    assert not turns.is_decoders_turn
    assert turns.count == 0


def test_decoders_train_after_at_most_a_hundred_encoder_steps():
    turns = Aggression()
    for number in range(MOST):
        assert not turns.is_decoders_turn
        turns.add(1000.0 - number)
    assert turns.is_decoders_turn


def test_aggressive_training_ends_when_information_stops_rising():
    turns = Aggression()
    for information, is_on in ((1.0, True), (2.0, True), (2.0, False), (3.0, False)):
        turns.observe(information)
        assert turns.is_on == is_on
