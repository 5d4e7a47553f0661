package render

// allowedHere are calls that only this architecture has.
var allowedHere []uint32
