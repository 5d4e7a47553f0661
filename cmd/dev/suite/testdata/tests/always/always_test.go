package always

import "testing"

func TestAlways(t *testing.T) { t.Error("every run fails") }

func TestBeside(t *testing.T) { t.Log("this passes") }
