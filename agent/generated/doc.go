// Package generated makes what templates make up stay what it is: passwords,
// certificates and names that come out other each time they are rendered.
//
// It looks objects up by what its caller, agent/poll, gives it, and changes the
// rendered objects before they are applied. It writes nothing, and decides
// nothing of what is applied.
//
// What holds: rendering the same revision again changes no object that exists;
// what runs once a revision has one name in it, and one identity.
package generated
