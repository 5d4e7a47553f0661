package drift

import (
	"strings"
	"testing"
)

// A list that is owned as a whole goes to whoever moves a field that is left to others.
// Taking it back restores nothing: it is no conflict, no heal, and has no hurry.
func TestFieldsLeftToOthersMayChangeAsOftenAsTheyLike(t *testing.T) {
	c := newConflict(t)
	c.keeper.same = true
	for n := range 2 * conflictAfter {
		c.live(2)
		c.run(t)
		if c.keeper.heals != n+1 {
			t.Fatalf("%d heals after change %d", c.keeper.heals, n+1)
		}
		c.live(1)
		c.run(t)
		c.live(2)
		c.run(t)
		if c.keeper.heals != n+1 {
			t.Fatalf("heal %d did not wait", n+2)
		}
		c.clock.now = c.clock.now.Add(healMin)
	}
	c.live(1)
	c.run(t)
	if all := c.Findings("s"); len(all) > 0 {
		t.Errorf("%+v", all)
	}
	if all := c.Heals(); len(all) > 0 {
		t.Errorf("%+v", all)
	}
}

// An object whose ignored fields got the values of Git is Contested until it is written
// again, and what happens to it meanwhile is healed as ever.
func TestLostFieldsAreContested(t *testing.T) {
	c := newConflict(t)
	c.keeper.want.Lost = ".spec.http[].route[].weight"
	c.live(1)
	c.run(t)
	all := c.Findings("s")
	if len(all) != 1 || all[0].State != Contested || !strings.Contains(all[0].Message, ".spec.http[].route[].weight") {
		t.Fatalf("%+v", all)
	}
	if c.keeper.heals != 0 {
		t.Errorf("%d heals of what does not differ", c.keeper.heals)
	}
	c.live(2)
	c.run(t)
	if c.keeper.heals != 1 {
		t.Fatalf("%d heals", c.keeper.heals)
	}
	c.keeper.want.Lost = ""
	c.live(1)
	c.run(t)
	if all := c.Findings("s"); len(all) > 0 {
		t.Errorf("%+v", all)
	}
}
