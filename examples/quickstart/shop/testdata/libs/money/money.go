// Package money writes amounts for people.
package money

import "fmt"

// Cents is an amount in hundredths of the currency.
type Cents int64

// String writes an amount with its currency.
func (c Cents) String() string { return fmt.Sprintf("%d.%02d EUR", c/100, c%100) }
