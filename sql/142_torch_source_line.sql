-- A line number of ProcessGroupNCCL.cpp as log lines print it, and the PyTorch release it is from.
-- grain: one row a line number
-- reads: nothing
-- stored: yes
-- note: Seen in real logs; vendor builds shift them, so this is a hint. release_no is major × 100 + minor.
create or replace view torch_source_line as
select
    unnest(string_split(numbers, ' '))::integer as source_line,
    release_no
from (
    values
        ('455 460 737 821 828', 113),
        ('456 458 461 464', 200),
        ('457 471 474 475 481 489 495 525 915 916 1182', 202),
        ('563 565 577 583 754 1153 1169 1316 1332 1414 1418 1537 1561', 203),
        ('607 609 621 627 1515 1521 1664 1709', 204),
        ('616 618 630 636 1484 1595 1785 1834', 205),
        ('629 667 681 695 1895 1901 2168', 206),
        ('670 684 698 756 1533 1536 1659 1685 1743 1746 2103 2106 2268 2271 633 655 671 693 2124 2147 2289 2299', 207),
        ('683 1575 1794 1858 1870 2057 2241 2573', 209),
        ('689 1628 1914 2303', 210),
        ('757 801 1442 1700 1725 1922 1987 2395 2732', 212)
) as t(numbers, release_no)
