package observe

import "fmt"

// Idle returns an error while a question holds a place.
func Idle(t *Target) error {
	if n := t.observer.questions.Used() + t.observer.looks.Used() + t.observer.tails.Used(); n > 0 {
		return fmt.Errorf("%d places are held", n)
	}
	return nil
}
