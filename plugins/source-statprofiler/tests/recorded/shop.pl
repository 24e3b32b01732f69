use strict; use warnings;
use Devel::StatProfiler -template => 'app', -interval => 5000, -source => 'all_evals', -maxsize => 1 << 20;
use Time::HiRes qw(time);
package Shop;
sub price { my $sum = 0; $sum += $_ * $_ for 1 .. $_[0]; return $sum }
sub page { my $text = join ',', map { "item $_" } 1 .. 2000; my @parts = split /,/, $text; return scalar @parts }
sub ranked { my @all = sort { $a <=> $b } map { ($_ * 7919) % 1009 } 1 .. 3000; return $all[0] }
sub deep { return $_[0] <= 0 ? price(4000) : deep($_[0] - 1) }
# line 100 "page.tt"
sub templated { my $sum = 0; $sum += $_ for 1 .. 20000; return $sum }
# line 11 "app.pl"
package main;
my $code = eval 'sub { my $sum = 0; $sum += $_ * 2 for 1 .. 20000; $sum }' or die $@;
my $end = time + 0.9;
while (time < $end) {
    Devel::StatProfiler::start_section('request');
    Shop::price(5000); Shop::page(); Shop::ranked(); Shop::deep(5); Shop::templated(); $code->();
    eval 'my $sum = 0; $sum += $_ for 1 .. 20000; 1' or die $@;
    Devel::StatProfiler::end_section('request');
}
