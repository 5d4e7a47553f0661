package send

// Content is what a message says. Its JSON is the body of a webhook delivery, described
// in docs/spec/notification-webhook.md.
type Content struct {
	// ID is the same in each attempt to deliver the message.
	ID string `json:"id"`
	// Event is the kind of the newest event, as in the event log.
	Event string `json:"event"`
	// Title is one line.
	Title string `json:"title"`
	// Objects are at most 10 of what it is about, and Others counts the events about
	// further ones.
	Objects []Object `json:"objects"`
	Others  int      `json:"others"`
	// LeftOut counts events about these objects that were replaced by later ones.
	LeftOut int `json:"leftOut"`
	// Cause is the revision of the source, empty when it is unknown.
	Cause string `json:"cause,omitempty"`
	// Router is the name of the router.
	Router string `json:"router"`
	// URL is that of the hub.
	URL string `json:"url"`
	// Test is set for the message of axle notifications sinks test.
	Test bool `json:"test,omitempty"`
}

// Object is one object with its last event.
type Object struct {
	// Kind is service, cluster or another noun, and Name its name.
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Event   string `json:"event"`
	Message string `json:"message,omitempty"`
	// By is who did it.
	By string `json:"by,omitempty"`
	// At is in RFC 3339, and Age how long ago that was when the message was made.
	At  string `json:"at"`
	Age string `json:"age,omitempty"`
	// Changes counts its events in this message.
	Changes int `json:"changes"`
	// Command shows more.
	Command string `json:"command,omitempty"`
}

// Bad reports whether the event is a failure.
func (o Object) Bad() bool {
	return o.Event == "service.failed" || o.Event == "rollout.stopped"
}
