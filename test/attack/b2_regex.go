package attack

var dearRegex = Attack{
	Class: "B2", Name: "dear-regular-expression", Needs: Bed,
	Story: "The same with a regular expression, which counted as one step whatever it reads.",
	Play:  func(p *Play) string { return p.dear(matches) },
}
